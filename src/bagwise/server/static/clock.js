// Times in a recording as people read them: seconds of a short one, m:ss of a longer one, h:mm:ss of a long one.

const MINUTE = 60;
const HOUR = 3600;

// `decimals` of the seconds; `length` of the recording decides on the form, so that all times in it look alike.
export function clock(seconds, length, decimals = 1) {
  if (length < MINUTE) return seconds.toFixed(decimals);
  const unit = 10 ** decimals;
  const rounded = Math.round(seconds * unit) / unit;
  const rest = (rounded % MINUTE).toFixed(decimals).padStart(decimals ? decimals + 3 : 2, "0");
  const minutes = Math.floor(rounded / MINUTE);
  if (length < HOUR) return `${minutes}:${rest}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

// "2.1 to 2.4 s", "1:02:03.1 to 1:02:03.4".
export function span(start, end, length) {
  return `${clock(start, length)} to ${clock(end, length)}${length < MINUTE ? " s" : ""}`;
}
