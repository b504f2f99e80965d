(() => {
  const PAGE = 50;
  const everywhere = document.getElementById("words");
  const words = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const element = (name, more, ...inside) => {
    const made = Object.assign(document.createElement(name), more);
    made.append(...inside);
    return made;
  };

  // ---- tables: only the rows of one page are laid out

  const tables = [...document.querySelectorAll("table.data")].map((table) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, text: row.textContent.toLowerCase() }));
    const heads = [...table.tHead.rows[0].cells];
    const own = element("input", { type: "search", placeholder: "Filter", autocomplete: "off" });
    own.setAttribute("aria-label", `Filter ${table.closest(".wide").getAttribute("aria-label")}`);
    const before = element("button", { type: "button" }, "Previous");
    const after = element("button", { type: "button" }, "Next");
    const found = element("output", {});
    found.setAttribute("aria-live", "polite");
    let order = rows, from = 0;
    const show = () => {
      const wanted = [...words(own), ...words(everywhere)];
      const fits = order.filter((each) => wanted.every((word) => each.text.includes(word)));
      from = Math.max(0, Math.min(from, Math.floor((fits.length - 1) / PAGE) * PAGE));
      const shown = fits.slice(from, from + PAGE);
      body.replaceChildren(...shown.map((each) => each.row));
      before.disabled = from === 0;
      after.disabled = from + PAGE >= fits.length;
      before.hidden = after.hidden = fits.length <= PAGE;
      const span = shown.length < fits.length ? `${(from + 1).toLocaleString("en")} to ${(from + shown.length).toLocaleString("en")} of ` : "";
      found.textContent = `${span}${fits.length.toLocaleString("en")}` + (fits.length < rows.length ? ` of ${rows.length.toLocaleString("en")} rows` : " rows");
    };
    const step = (by) => { from += by; show(); };
    before.addEventListener("click", () => step(-PAGE));
    after.addEventListener("click", () => step(PAGE));
    own.addEventListener("input", () => { from = 0; show(); });
    const key = (row, at, isNumber) => {
      const text = row.cells[at].dataset.key ?? row.cells[at].textContent;
      return isNumber ? (text === "" ? -Infinity : Number(text)) : text;
    };
    const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true }));
    heads.forEach((head, at) => {
      const isNumber = head.classList.contains("number");
      const button = element("button", { type: "button" }, head.textContent);
      button.addEventListener("click", () => {
        const first = isNumber ? "descending" : "ascending";
        const next = head.ariaSort === first ? (isNumber ? "ascending" : "descending") : first;
        heads.forEach((each) => each.removeAttribute("aria-sort"));
        head.ariaSort = next;
        const sign = next === "ascending" ? 1 : -1;
        const keyed = rows.map((each) => [key(each.row, at, isNumber), each]);
        order = keyed.sort(([a], [b]) => sign * compare(a, b)).map(([, each]) => each);
        from = 0;
        show();
      });
      head.replaceChildren(button);
    });
    const tools = element("div", { className: "tools" }, own, before, after, found);
    tools.hidden = rows.length <= 10;
    table.closest(".wide").before(tools);
    window.addEventListener("beforeprint", () => body.replaceChildren(...order.map((each) => each.row)));
    window.addEventListener("afterprint", show);
    return { show, restart: () => { from = 0; show(); } };
  });
  everywhere.addEventListener("input", () => tables.forEach((each) => each.restart()));
  everywhere.hidden = false;
  tables.forEach((each) => each.show());

  // ---- charts over days

  const LINES = { light: ["#2f6fb5", "#b3202c", "#116329", "#a04bb8", "#b35900", "#00757d", "#59636e"],
    dark: ["#6cb0f5", "#ff7b72", "#56d364", "#d2a8ff", "#ffa657", "#39c5cf", "#9198a1"] };
  const short = new Intl.NumberFormat("en", { notation: "compact" });
  const iso = (day) => new Date(day * 1000).toISOString().slice(0, 10);
  const isDark = () => getComputedStyle(document.body).backgroundColor !== "rgb(255, 255, 255)";
  const draw = (figure) => {
    const { days, lines } = JSON.parse(figure.dataset.series);
    const place = figure.querySelector(".plot");
    const made = isDark() ? LINES.dark : LINES.light;
    const text = getComputedStyle(document.body).color;
    const grid = { stroke: isDark() ? "#3d444d80" : "#d1d9e0", width: 1 };
    const font = `12px ${getComputedStyle(document.body).fontFamily}`;
    figure.chart?.destroy();
    figure.chart = new uPlot({
      width: Math.max(200, place.clientWidth),
      height: 240,
      padding: [12, 40, 0, 0], // room for half of the last day
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { y: { range: (_, low, high) => [Math.min(0, low), Math.max(1, high * 1.05)] } },
      legend: { markers: { fill: (_, at) => at ? made[(at - 1) % made.length] : "transparent" } },
      cursor: { drag: { x: true, y: false } },
      axes: [
        { stroke: text, grid, ticks: grid, font, space: 100, incrs: [1, 2, 7, 14, 28, 56, 112, 224].map((each) => each * 86400), values: (_, values) => values.map(iso) },
        { stroke: text, grid, ticks: grid, font, size: 56, values: (_, values) => values.map((each) => Number.isInteger(each) ? short.format(each) : "") },
      ],
      series: [
        { label: "day", value: (_, day) => day == null ? "" : iso(day) },
        ...lines.map(([label], at) => ({
          label, stroke: made[at % made.length], width: 2, points: { show: days.length < 45 },
          value: (_, value) => value == null ? "" : value.toLocaleString("en"),
        })),
      ],
    }, [days, ...lines.map(([, values]) => values)], place);
  };
  const figures = [...document.querySelectorAll("figure[data-series]")];
  const widths = new ResizeObserver((seen) => seen.forEach(({ target }) => {
    const { chart } = target.closest("figure");
    const width = Math.max(200, target.clientWidth);
    if (chart && chart.width !== width) chart.setSize({ width, height: 240 });
  }));
  figures.forEach((each) => { draw(each); widths.observe(each.querySelector(".plot")); });
  window.addEventListener("kplan-theme", () => figures.forEach(draw));
})();
