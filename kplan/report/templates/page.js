(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const items = [...document.querySelectorAll("[data-mark]")].map((item) => ({
    item, marks: item.dataset.mark.trim().split(/\s+/),
  }));
  const said = (each) => each.said ??= each.item.textContent.toLowerCase();
  const words = document.getElementById("words");
  const found = document.getElementById("found");
  const sections = [...document.querySelectorAll("main > section")];
  const filter = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const marks = new Set([...form.querySelectorAll("[name=mark]:checked")].map((box) => box.value));
    let shown = 0;
    for (const each of items) {
      const fits = each.marks.some((mark) => marks.has(mark)) && wanted.every((word) => said(each).includes(word));
      each.item.classList.toggle("away", !fits);
      shown += fits;
    }
    for (const section of sections) {
      const inside = [...section.querySelectorAll("[data-mark]")];
      const alone = inside.length === section.querySelectorAll(":scope > :not(h2, h3)").length;
      section.classList.toggle("away", inside.length > 0 && alone && inside.every((item) => item.classList.contains("away")));
    }
    found.textContent = `${shown} of ${items.length} shown`;
  };
  const all = (open) => document.querySelectorAll("details.item").forEach((item) => { item.open = open; });
  document.getElementById("open").addEventListener("click", () => all(true));
  document.getElementById("close").addEventListener("click", () => all(false));
  form.addEventListener("input", filter);
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("beforeprint", () => all(true));
  const signs = JSON.parse(document.querySelector("main").dataset.signs);
  const known = Object.keys(signs).filter(Boolean).map((sign) => sign.replace(/./g, "\\$&")).join("|");
  const signed = new RegExp(`^( *)(?:(${known}) )?(.*)$`);
  const row = (text) => {
    const [, room, sign = "", rest] = signed.exec(text);
    const [kind, word] = signs[sign];
    const made = document.createElement("span");
    made.className = `row ${kind}`;
    made.append(room);
    for (const [name, said] of sign ? [[`m ${kind}`, sign], ["sr", word]] : []) {
      const part = document.createElement("span");
      part.className = name;
      part.ariaHidden = name === "sr" ? null : "true";
      part.append(said);
      made.append(part);
    }
    made.append(sign && " ", rest);
    return made;
  };
  const sight = new IntersectionObserver((seen) => seen.filter((each) => each.isIntersecting).forEach(({ target }) => {
    sight.unobserve(target);
    target.replaceChildren(...target.textContent.split("\n").slice(0, -1).flatMap((text) => [row(text), "\n"]));
  }), { rootMargin: "50%" });
  document.querySelectorAll("pre.bare").forEach((each) => sight.observe(each));
  form.hidden = false;
  filter();
})();
