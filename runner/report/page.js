"use strict";
// Values at the pointer. The page is complete without this.
(() => {
  const number = (v) => {
    const size = Math.abs(v);
    if (size === 0) return "0";
    if (size < 1e-3 || size >= 1e6) return v.toExponential(2);
    return String(+v.toFixed(size < 10 ? 4 : size < 100 ? 2 : size < 1000 ? 1 : 0));
  };
  const bytes = (v) => {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let i = 0;
    for (; v >= 1024 && i < 4; ++i) v /= 1024;
    return v.toFixed(i ? 1 : 0) + " " + units[i];
  };
  const say = {
    number,
    bytes,
    rate: (v) => number(v) + "/s",
    share: (v) => number(v * 100) + " %",
    seconds: (v) => (v < 1e-3 ? number(v * 1e6) + " µs" : v < 1 ? number(v * 1e3) + " ms" : number(v) + " s"),
  };
  const nearest = (xs, x) => {
    let best = 0;
    for (let i = 1; i < xs.length; ++i) if (Math.abs(xs[i] - x) < Math.abs(xs[best] - x)) best = i;
    return best;
  };
  const make = (tag, name, text) => {
    const element = document.createElement(tag);
    element.className = name;
    if (text !== undefined) element.textContent = text;
    return element;
  };
  for (const figure of document.querySelectorAll("figure.chart")) {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const area = figure.querySelector(".area");
    const hair = area.appendChild(make("i", "hair"));
    const tip = area.appendChild(make("div", "tip"));
    const show = (event) => {
      const box = area.getBoundingClientRect();
      const x = data.x0 + ((event.clientX - box.left) / box.width) * (data.x1 - data.x0);
      const found = data.s.map((s) => ({ s, i: nearest(s.x, x) }));
      const distance = (f) => Math.abs(f.s.x[f.i] - x);
      const closest = found.reduce((a, b) => (distance(b) < distance(a) ? b : a));
      const at = closest.s.x[closest.i];
      const reach = (data.x1 - data.x0) / 40;
      const share = (at - data.x0) / (data.x1 - data.x0);
      tip.replaceChildren(make("b", "", "update " + at.toLocaleString("en")));
      for (const { s, i } of found) {
        if (Math.abs(s.x[i] - at) > reach) continue;
        const row = make("span", s.c, s.n);
        row.append(make("b", "", say[data.u](s.y[i])));
        tip.append(row);
      }
      hair.style.left = share * 100 + "%";
      tip.style.left = share > 0.55 ? "auto" : share * 100 + "%";
      tip.style.right = share > 0.55 ? (1 - share) * 100 + "%" : "auto";
      area.classList.add("on");
    };
    area.addEventListener("pointermove", show);
    area.addEventListener("pointerdown", show);
    area.addEventListener("pointerleave", () => area.classList.remove("on"));
  }
})();
