// Numbers: how they are written, and where they lie on an axis.
const NONE = "–";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function digitsOf(value) {
  const size = Math.abs(value);
  if (size === 0 || size >= 1e6 || size < 1e-4) return null;
  return Math.max(0, 3 - Math.floor(Math.log10(size)));
}

const minus = (text) => text.replace("-", "−");

// Four digits that count, in words a person writes.
function number(value) {
  if (!isNumber(value)) return NONE;
  if (value === 0) return "0";
  const digits = digitsOf(value);
  if (digits === null) return value.toPrecision(3).replace("e+", "e");
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const shown = Math.min(digits, 6);
  return minus(value.toLocaleString("en",
    { minimumFractionDigits: shown, maximumFractionDigits: shown }));
}

const share = (value) => (isNumber(value) ? `${(100 * value).toFixed(1)} %` : NONE);
const metric = (value) => (isNumber(value) ? value.toFixed(4) : NONE);
const sign = (value, digits) =>
  isNumber(value) ? (value < 0 ? "−" : "+") + Math.abs(value).toFixed(digits) : NONE;
const change = (value) => sign(value, 4);
const effect = (value) => sign(value, 2);
const interval = ([low, high]) => `${change(low)} to ${change(high)}`;
const whole = (value) => (isNumber(value) ? value.toLocaleString("en") : NONE);
const probability = (value) =>
  !isNumber(value) ? NONE : value < 0.00005 ? "<0.0001" : value.toFixed(4);

const FORMATS = { number, share, metric, signed: change, effect, interval, whole, probability,
  text: (value) => value };

// Round steps that divide low..high into about `count` parts.
function ticks(low, high, count) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

// 1, 2, 5, 10, ... ; only powers of ten where those would be too many.
function logTicks(low, high, count) {
  const found = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    for (const one of [1, 2, 5]) {
      if (one * power >= low && one * power <= high) found.push(one * power);
    }
  }
  return found.length <= count ? found : found.filter((one) => Number.isInteger(Math.log10(one)));
}

function scale(low, high, start, end, isLog) {
  const at = isLog ? Math.log : (value) => value;
  const width = at(high) - at(low) || 1;
  return (value) => start + ((at(value) - at(low)) / width) * (end - start);
}

// The text of ticks: as many digits as their distance needs.
function tickText(values, format) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : Math.abs(values[0]) || 1;
  if (format === "share") {
    const digits = Math.max(0, -Math.floor(Math.log10(step * 100) + 1e-9));
    return values.map((value) => `${(100 * value).toFixed(Math.min(digits, 4))} %`);
  }
  if (Math.abs(values[values.length - 1]) >= 1e6 || step < 1e-6) return values.map(number);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return values.map((value) => minus(value.toLocaleString("en",
    { minimumFractionDigits: digits, maximumFractionDigits: digits })));
}

// The place of the last of sorted `values` that is not above `wanted`; -1 if all are.
function lastUpTo(values, wanted) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// Scores, forces and grades as the explorer writes them: few digits, and a sign where it says which
// way a force goes.
const short = (value, digits = 3) =>
  String(Number(value.toPrecision(digits))).replace("-", "\u2212");
const signed = (value) => (value > 0 ? "+" : "") + short(value);
// As many decimals as show three digits of the largest, so that a column lines up.
function aligned(value, largest) {
  const decimals = 2 - Math.floor(Math.log10(largest));
  if (value === 0) return "0";
  if (!(decimals >= 0 && decimals <= 6)) return signed(value);
  return (value > 0 ? "+" : "\u2212") + Math.abs(value).toFixed(decimals);
}
const label = (y) => (y === null ? "?" : short(y, 4));

rankforce.scales = { FORMATS, NONE, isNumber, ticks, logTicks, scale, tickText, lastUpTo, short,
  signed, aligned, label };
