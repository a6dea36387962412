// Adds to the page what needs a script: a cursor across all lanes, zoom, filters, and the state at a chosen moment.
// Without it the page shows the same lanes, tables and story.
"use strict";
(async () => {
  const line = document.querySelector(".timeline"), controls = document.querySelector(".controls");
  if (!line || !controls) return;
  const panel = document.querySelector(".moment"), cursor = line.querySelector(".cursor");
  const whole = Number(line.dataset.span), view = { from: 0, span: whole }, chosen = { log: "", process: "", anomaly: "" };
  let moment = null, data = null;
  controls.hidden = false;
  const stick = () => line.style.setProperty("--top", `${controls.offsetHeight}px`);
  addEventListener("resize", stick);
  stick();

  // --- zoom ---
  const seconds = (ms) => (ms / 1000).toFixed(3);
  function show(from, span) {
    view.span = Math.min(Math.max(span, 20), whole);
    view.from = Math.min(Math.max(from, 0), whole - view.span);
    line.style.setProperty("--from", view.from);
    line.style.setProperty("--span", view.span);
    if (data) draw();
    for (const svg of line.querySelectorAll("svg.drawing")) svg.setAttribute("viewBox", `${view.from} 0 ${view.span} 100`);
    ticks();
  }
  function ticks() {
    let step = 1;
    for (const next of [2, 2.5, 2]) if (view.span / step > 12) step *= next;
    while (view.span / step > 12) for (const next of [2, 2.5, 2]) if (view.span / step > 12) step *= next;
    const made = [];
    for (let at = Math.ceil(view.from / step) * step; at <= view.from + view.span; at += step) {
      const tick = element("span", String(at / 1000));
      tick.className = "tick";
      tick.style.setProperty("--b", at);
      made.push(tick);
    }
    line.querySelector(".axis .plot").replaceChildren(...made);
  }
  const zoom = (factor, around) => show(around - (around - view.from) * factor, view.span * factor);
  controls.addEventListener("click", (event) => {
    const { zoom: factor, pan } = event.target.dataset;
    if (pan) show(view.from + view.span * Number(pan), view.span);
    else if (factor === "all") show(0, whole);
    else if (factor) zoom(Number(factor), moment ?? view.from + view.span / 2);
    if (pan || factor) remember();
  });

  // --- the moment: click, drag, link ---
  function timeAt(event) {
    const plot = line.querySelector(".axis .plot").getBoundingClientRect();
    if (event.clientX < plot.left) return null;
    return view.from + ((event.clientX - plot.left) / plot.width) * view.span;
  }
  let pressed = null;
  line.addEventListener("pointerdown", (event) => {
    pressed = event.target.closest("a, summary") ? null : timeAt(event);
  });
  line.addEventListener("pointerup", (event) => {
    const time = timeAt(event);
    if (pressed === null || time === null) return;
    if (Math.abs(time - pressed) > view.span / 100) {
      show(Math.min(time, pressed), Math.abs(time - pressed));
    } else choose(time);
    pressed = null;
    getSelection().removeAllRanges();
    remember();
  });
  function choose(time) {
    moment = time;
    cursor.hidden = false;
    cursor.style.setProperty("--b", time);
    if (time < view.from || time > view.from + view.span) show(time - view.span / 2, view.span);
    describe();
  }
  function remember() {
    const parts = new URLSearchParams();
    if (moment !== null) parts.set("t", seconds(moment));
    if (view.span < whole) parts.set("zoom", `${seconds(view.from)}-${seconds(view.from + view.span)}`);
    for (const [name, value] of Object.entries(chosen)) if (value) parts.set(name, value);
    history.replaceState(null, "", `#${parts}`);
  }
  function follow() {
    const text = location.hash.slice(1), target = text && document.getElementById(text);
    if (target) {
      document.querySelectorAll(".life.chosen").forEach((each) => each.classList.remove("chosen"));
      target.classList.add("chosen");
      for (let each = target; each; each = each.parentElement.closest("details")) each.open = true;
      target.scrollIntoView({ block: "center" });
      return;
    }
    const parts = new URLSearchParams(text);
    for (const name of Object.keys(chosen)) if (parts.has(name)) chosen[name] = parts.get(name);
    for (const select of controls.querySelectorAll("select")) select.value = chosen[select.name] ?? "";
    filter();
    if (parts.has("zoom")) {
      const [from, to] = parts.get("zoom").split("-").map(Number);
      if (to > from) show(from * 1000, (to - from) * 1000);
    }
    const time = Number(parts.get("t")) * 1000;
    if (parts.has("t") && Number.isFinite(time)) {
      choose(Math.min(Math.max(time, 0), whole));
      const place = line.getBoundingClientRect();
      if (place.top > innerHeight - 200 || place.bottom < 200) line.scrollIntoView();
    }
  }
  addEventListener("hashchange", follow);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  function hide() {
    moment = null;
    panel.hidden = cursor.hidden = true;
  }

  // --- what is known of a moment ---
  function element(name, text, ...inside) {
    const made = document.createElement(name);
    if (text !== undefined && text !== null) made.textContent = text;
    made.append(...inside);
    return made;
  }
  const style = (each, name) => Number(each.style.getPropertyValue(name));
  function describe() {
    if (moment === null) return;
    const close = element("button", "close");
    close.type = "button";
    close.addEventListener("click", hide);
    const list = element("ul");
    for (const lane of line.querySelectorAll(".lane:not([hidden])")) {
      const texts = [];
      for (const span of lane.querySelectorAll(".row:not([hidden]) .span:not(.ran, .active)")) {
        if (style(span, "--b") <= moment && moment <= style(span, "--e") && span.title) texts.push(span.title);
      }
      for (const mark of lane.querySelectorAll(".row:not([hidden]) .mark")) {
        if (Math.abs(style(mark, "--b") - moment) < view.span / 200) texts.push(mark.title);
      }
      const title = lane.querySelector("h3, h4, summary").textContent;
      if (texts.length) list.append(element("li", null, element("b", `${title}: `), [...new Set(texts)].join("; ")));
    }
    panel.replaceChildren(close, element("strong", `At ${seconds(moment)} s`), list, ...operations());
    panel.hidden = false;
  }
  function operations() {
    if (!data) return [];
    const { time, took, process, log, outcome, offset, error, errors } = data.operations, near = [];
    for (let at = 0; at < time.length; at++) {
      if (!matches(log[at], process[at])) continue;
      const end = time[at] + (took[at] ?? 0), distance = moment < time[at] ? time[at] - moment : Math.max(moment - end, 0);
      if (distance <= Math.max(data.width, view.span / 50)) near.push([distance, at]);
    }
    near.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    const rows = near.slice(0, 8).map(([, at]) =>
      element("tr", null, ...[
        seconds(time[at]), data.clients[process[at]] ?? process[at], data.logs[log[at]] ?? "", data.outcomes[outcome[at]],
        took[at] === null ? "–" : `${took[at]} ms`, offset[at] ?? "–", errors[error[at]] ?? "",
      ].map((text) => element("td", String(text)))));
    if (!rows.length) return [];
    const head = ["sent", "client", "partition", "outcome", "took", "offset", "errors"].map((text) => element("th", text));
    return [element("strong", `Sends at work (${rows.length} of ${near.length}; not acknowledged and slowest ones)`),
      element("table", null, element("thead", null, element("tr", null, ...head)), element("tbody", null, ...rows))];
  }

  // --- filters ---
  controls.addEventListener("change", (event) => {
    chosen[event.target.name] = event.target.value;
    filter();
    describe();
    remember();
  });
  const matches = (log, process) =>
    (!chosen.log || data.logs[log] === chosen.log) && (!chosen.process || process < 0 || String(process) === chosen.process);
  function filter() {
    for (const each of document.querySelectorAll("[data-log], [data-process], [data-anomaly]")) {
      each.hidden = Object.entries(chosen).some(([name, value]) => value && each.dataset[name] && each.dataset[name] !== value);
    }
    const others = document.querySelector(".others");
    if (others && chosen.anomaly) others.open = true;
    for (const lane of line.querySelectorAll(".lane")) lane.hidden = !lane.querySelector(".row:not([hidden])");
    if (data) draw();
  }
  function draw() {
    const { bucket, log, process, outcome, latency, total } = data.cells, size = data.buckets;
    const counts = data.outcomes.map(() => new Array(size).fill(0)), classes = Array.from({ length: size }, () => new Map());
    for (let at = 0; at < bucket.length; at++) {
      if (!matches(log[at], process[at])) continue;
      counts[outcome[at]][bucket[at]] += total[at];
      if (outcome[at] === 0) classes[bucket[at]].set(latency[at], (classes[bucket[at]].get(latency[at]) ?? 0) + total[at]);
    }
    // Of a part of the run there are finer counts, as long as nothing is filtered.
    const isFine = !chosen.log && !chosen.process && view.span < whole / 3;
    const width = isFine ? data.width / data.finer : data.width, some = isFine ? data.outcomes.map((each) => data.fine[each]) : counts;
    const [ok, info, fail, polled] = some.map((each) => each.map((value) => (value * 1000) / width));
    stack("sends", [ok, info, fail], width);
    stack("polls", [polled], width);
    if (chosen.log || chosen.process) lines("latency", [0.5, 0.99, 1].map((share) => classes.map((each) => quantile(each, share))));
    else restore("latency");
  }
  function quantile(classes, share) {
    const sorted = [...classes].sort((one, other) => one[0] - other[0]);
    let left = share * sorted.reduce((sum, each) => sum + each[1], 0);
    for (const [number, count] of sorted) if ((left -= count) <= 1e-9) return data.fastest * 2 ** ((number - 1) / data.steps);
    return null;
  }
  const drawings = new Map([...line.querySelectorAll("[data-chart]")].map((svg) => [svg.dataset.chart, svg]));
  const originals = new Map([...drawings].map(([name, svg]) => [name, svg.innerHTML]));
  function restore(name) {
    if (drawings.has(name)) drawings.get(name).innerHTML = originals.get(name);
  }
  function stack(name, series, width) {
    const svg = drawings.get(name);
    if (!svg) return;
    const sums = series[0].map((_, at) => series.reduce((sum, each) => sum + each[at], 0));
    const top = nice(Math.max(...sums)), below = sums.map(() => 0), y = (value) => (100 * (1 - value / top)).toFixed(1);
    svg.querySelectorAll("path").forEach((path, number) => {
      const parts = series[number].map((value, at) => {
        const low = below[at];
        below[at] += value;
        return value ? `M${at * width} ${y(low)}V${y(below[at])}h${width}V${y(low)}z` : "";
      });
      path.setAttribute("d", parts.join(""));
    });
    svg.parentElement.querySelector(".scale.top").textContent = `${top.toLocaleString("en")}/s`;
  }
  function nice(value) {
    if (value <= 0) return 1;
    const power = 10 ** Math.floor(Math.log10(value));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((each) => each * power).find((each) => each >= value * 0.999);
  }
  function lines(name, series) {
    const svg = drawings.get(name);
    if (!svg) return;
    const low = Math.log10(svg.dataset.bottom), high = Math.log10(svg.dataset.top);
    const y = (value) => (100 * (1 - Math.min(Math.max((Math.log10(value) - low) / (high - low || 1), 0), 1))).toFixed(1);
    svg.querySelectorAll("path").forEach((path, number) => {
      let last = null;
      path.setAttribute("d", (series[number] ?? []).map((value, at) => {
        if (value === null) return "";
        const isOpen = last !== null && (at - last) * data.width <= Math.max(1000, 3 * data.width);
        last = at;
        return `${isOpen ? "L" : "M"}${(at + 0.5) * data.width} ${y(value)}${isOpen ? "" : "h0.1"}`;
      }).join(""));
    });
  }

  // --- the data: JSON, compressed ---
  try {
    const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (each) => each.charCodeAt(0));
    data = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
  } catch (error) {
    controls.querySelector(".hint").textContent = `Charts do not follow the filters in this browser (${error.message}).`;
  }
  follow();
})();
