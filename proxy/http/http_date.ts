/**
 * The Date of answers that come without one (RFC 9110 §6.6.1). In: the system's clock. Out: its value,
 * made anew once a second.
 */
let second = 0;
let text = "";

/** Now, as `Sun, 06 Nov 1994 08:49:37 GMT`; the same string for a second. */
export function httpDate(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    text = new Date(now * 1000).toUTCString();
  }
  return text;
}
