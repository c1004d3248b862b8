// Keys and pointers on the list of the explorer: they move documents, go from row to row, and open
// the pairs of a document.
(function () {
  "use strict";
  const rankforce = (window.rankforce = window.rankforce || {});

  function onKey(explorer, event) {
    const row = event.target.closest(".ex-item");
    if (!row) return;
    const one = Number(row.dataset.document);
    const r = explorer.order.indexOf(one);
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by && event.altKey) {
      explorer.move(one, r + by);
      explorer.rows[one].row.focus();
    } else if (by || event.key === "Home" || event.key === "End") {
      const last = explorer.list.children.length - 1;
      const to = by ? r + by : event.key === "Home" ? 0 : last;
      explorer.list.children[Math.max(0, Math.min(to, last))].focus();
    } else if ((event.key === "Enter" || event.key === " ") && event.target === row) {
      explorer.select(one);
    } else if (event.key === "Escape" && explorer.selected !== null) {
      explorer.select(explorer.selected);
    } else return;
    event.preventDefault();
  }

  // A finger scrolls the page, except on the rank; a mouse drags the row anywhere.
  function onPress(explorer, event) {
    const row = event.target.closest(".ex-item");
    if (!row || event.button !== 0 || event.target.closest("button")) return;
    const one = Number(row.dataset.document);
    const isHandle = event.pointerType === "mouse" || event.target.closest(".ex-rank");
    const { list, scores } = explorer;
    const middles = [...list.children].map((each) => each.offsetTop + each.offsetHeight / 2);
    const from = event.clientY;
    let isDragged = false;
    let rank = explorer.order.indexOf(one);
    const onMove = (now) => {
      if (!isHandle || (!isDragged && Math.abs(now.clientY - from) < 5)) return;
      isDragged = true;
      row.classList.add("ex-dragged");
      const y = now.clientY - list.getBoundingClientRect().top;
      const far = middles.map((middle) => Math.abs(middle - y));
      const to = far.indexOf(Math.min(...far));
      // Always from where it stood, so that its score is one between its neighbours.
      if (to !== rank) explorer.move(one, (rank = to), scores);
    };
    const stop = new AbortController();
    const onEnd = (last) => {
      stop.abort();
      row.classList.remove("ex-dragged");
      if (last.type !== "pointerup") return;
      if (!isDragged && row.contains(last.target)) explorer.select(one);
      row.focus({ preventScroll: true });
    };
    const onEscape = (key) => {
      if (key.key !== "Escape" || !isDragged) return;
      explorer.scores = scores;
      explorer.render();
      onEnd(key);
    };
    window.addEventListener("pointermove", onMove, { signal: stop.signal });
    window.addEventListener("pointerup", onEnd, { signal: stop.signal });
    window.addEventListener("pointercancel", onEnd, { signal: stop.signal });
    window.addEventListener("keydown", onEscape, { signal: stop.signal });
  }

  function listen(explorer) {
    explorer.list.addEventListener("keydown", (event) => onKey(explorer, event));
    explorer.list.addEventListener("pointerdown", (event) => onPress(explorer, event));
  }

  rankforce.explorerInput = { listen };
})();
