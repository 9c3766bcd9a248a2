// Quantiles of histograms, as PromQL's histogram_quantile computes them, to the bit: the observations of a bucket lie evenly between its
// bounds, those of the first one from 0 on, and the last finite bound stands for all that lies above it. counts has one entry more than
// bounds and isn't cumulative. Without observations it is NaN.
export function quantile(q, bounds, counts) {
  if (Number.isNaN(q)) return q;
  if (q < 0) return -Infinity;
  if (q > 1) return Infinity;
  let all = 0;
  for (const n of counts) all += n;
  if (all === 0 || bounds.length === 0) return NaN;
  const rank = q * all;
  let below = 0;
  for (let i = 0; i < bounds.length; i++) {
    const upTo = below + counts[i];
    if (upTo < rank) {
      below = upTo;
      continue;
    }
    if (i === 0 && bounds[0] <= 0) return bounds[0];
    const lower = i > 0 ? bounds[i - 1] : 0;
    return lower + (bounds[i] - lower) * ((rank - below) / (upTo - below));
  }
  return bounds[bounds.length - 1];
}

// addCounts adds one histogram's counts to a sum; null is an empty sum.
export function addCounts(sum, counts) {
  if (sum === null) return counts.slice();
  for (let i = 0; i < counts.length; i++) sum[i] += counts[i];
  return sum;
}
