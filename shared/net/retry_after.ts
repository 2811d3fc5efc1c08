/**
 * The header Retry-After. In: its value, and the time. Out: how long its sender asks to wait. Pure.
 *
 * https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
 */

/** 30 years: more digits are a mistake. */
const SECONDS = /^\d{1,9}$/;
/** The form in which dates are sent since 1996 (RFC 9110 §5.6.7); `Date.parse` alone reads `1.5` as one. */
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * In ms, 0 for a date that has passed; null without a header, or where it is neither seconds nor a date.
 *
 * @param now in ms since the epoch.
 */
export function parseRetryAfter(value: string | null, now: number): number | null {
  if (value === null) return null;
  if (SECONDS.test(value)) return Number(value) * 1000;
  const date = DATE.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(date) ? null : Math.max(date - now, 0);
}
