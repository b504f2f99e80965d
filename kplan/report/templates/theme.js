(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const kept = (theme) => {
    try {
      return theme === undefined ? localStorage.getItem("kplan-theme") : localStorage.setItem("kplan-theme", theme);
    } catch {
      return null; // a browser may keep nothing for files
    }
  };
  const current = () => root.dataset.theme ?? (system.matches ? "dark" : "light");
  const show = () => {
    button.textContent = current() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use ${button.textContent.toLowerCase()} colours`);
    window.dispatchEvent(new Event("kplan-theme"));
  };
  if (["light", "dark"].includes(kept())) root.dataset.theme = kept();
  button.addEventListener("click", () => {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    kept(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
})();
