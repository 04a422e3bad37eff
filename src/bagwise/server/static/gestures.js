// Wheel, drag and pinch on an element. `zoom(factor, x, y)` and `pan(across, down)`, in pixels of the window, say whether
// anything changed: where nothing did, a wheel scrolls the page. After a drag there is no click.

const A_DRAG = 6; // Pixels; less is a click.
const LINE = 16;

export function watchGestures(element, { zoom, pan }) {
  const points = new Map();
  let start = null;
  let dragged = false;

  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    points.set(event.pointerId, event);
    if (points.size === 1) [start, dragged] = [event, false];
  });
  element.addEventListener("pointermove", (event) => {
    const before = [...points.values()];
    if (!points.has(event.pointerId)) return;
    if (!dragged && before.length === 1 && Math.hypot(event.clientX - start.clientX, event.clientY - start.clientY) < A_DRAG) return;
    if (!dragged) element.setPointerCapture(event.pointerId);
    dragged = true;
    points.set(event.pointerId, event);
    const [was, is] = [before, [...points.values()]].map(middle);
    pan(is.x - was.x, is.y - was.y);
    if (before.length === 2 && was.spread > 0) zoom(is.spread / was.spread, is.x, is.y);
  });
  for (const name of ["pointerup", "pointercancel"]) {
    element.addEventListener(name, (event) => {
      points.delete(event.pointerId);
      if (!points.size) setTimeout(() => (dragged = false)); // After the click that may follow.
    });
  }
  element.addEventListener("click", (event) => {
    if (!dragged) return;
    event.stopPropagation();
    event.preventDefault();
  }, { capture: true });
  element.addEventListener("dragstart", (event) => event.preventDefault());
  // Else two fingers would scroll or zoom the page.
  for (const name of ["touchstart", "touchmove"]) {
    element.addEventListener(name, (event) => event.touches.length > 1 && event.cancelable && event.preventDefault(), { passive: false });
  }
  element.addEventListener("wheel", (event) => {
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
    const [across, down] = [event.deltaX, event.deltaY].map((one) => one * unit);
    const sideways = event.shiftKey || Math.abs(across) > Math.abs(down);
    // Trackpads send a pinch as a wheel with Ctrl, in small steps.
    const changed = sideways ? pan(-(across || down), 0) : zoom(Math.exp(-down * (event.ctrlKey ? 0.01 : 0.002)), event.clientX, event.clientY);
    if (changed || event.ctrlKey) event.preventDefault();
  }, { passive: false });
}

function middle(events) {
  const [one, other = one] = events;
  return {
    x: (one.clientX + other.clientX) / 2,
    y: (one.clientY + other.clientY) / 2,
    spread: Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY),
  };
}
