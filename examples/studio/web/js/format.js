// Numbers as people read them. "–" is a value that isn't known.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const one = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const two = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const none = "–";
const known = (v) => typeof v === "number" && Number.isFinite(v);

export const count = (v) => (known(v) ? whole.format(v) : none);

// rate is a number of things per second: three digits that say something.
export function rate(v) {
  if (!known(v)) return none;
  return v === 0 ? "0" : v < 10 ? two.format(v) : v < 100 ? one.format(v) : whole.format(v);
}

export const percent = (share) => (known(share) ? `${share >= 0.9995 || share === 0 ? whole.format(share * 100) : one.format(share * 100)} %` : none);

export function millis(ms) {
  if (!known(ms)) return none;
  if (ms === 0) return "0 ms";
  if (ms < 1) return `${two.format(ms)} ms`;
  if (ms < 100) return `${one.format(ms)} ms`;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  return ms < 100e3 ? `${two.format(ms / 1000)} s` : `${whole.format(ms / 1000)} s`;
}

export const seconds = (s) => (known(s) ? millis(s * 1000) : none);

export function bytes(n) {
  if (!known(n)) return none;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let u = 0;
  for (; n >= 1024 && u < units.length - 1; u++) n /= 1024;
  return `${u === 0 || n >= 100 ? whole.format(n) : one.format(n)} ${units[u]}`;
}

// age is a length of time in its two largest units.
export function age(s) {
  if (!known(s)) return none;
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  let at = parts.findIndex(([size]) => s >= size);
  if (at < 0) at = 3;
  const [size, unit] = parts[at];
  const first = `${Math.floor(s / size)} ${unit}`;
  if (at === 3) return first;
  const [smaller, name] = parts[at + 1];
  return `${first} ${Math.floor((s % size) / smaller)} ${name}`;
}

const clockTime = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayTime = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });

// date is a time that a calendar has: a server may say any number, and to format others throws.
const date = (ms) => (known(ms) && Math.abs(ms) <= 8.64e15 ? new Date(ms) : undefined);
const shown = (format, ms) => { const d = date(ms); return d ? format.format(d) : none; };

// stamp is a time for machines, null for what is none.
export const stamp = (ms) => date(ms)?.toISOString() ?? null;
export const clock = (ms) => shown(clockTime, ms);
export const moment = (s, span) => shown(span > 86400 ? dayTime : clockTime, s * 1000);

// tick is a time on an axis whose ticks are so many seconds apart.
export const tick = (s, apart) => shown(apart >= 86400 ? day : apart >= 60 ? minute : clockTime, s * 1000);
