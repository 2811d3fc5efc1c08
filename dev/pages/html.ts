/** Pages for browsers. In: a title, and a body in HTML. Out: a whole page that fetches nothing. */

/** @param body HTML, in which texts have been escaped. */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>${escapeHtml(title)}</title>
<style>
  body { font: 1rem/1.5 system-ui, sans-serif; max-width: 45rem; margin: 3rem auto; padding: 0 1rem }
  th { text-align: left; vertical-align: top; white-space: nowrap; padding-right: 1.5rem }
  td { overflow-wrap: anywhere }
  code { font-size: 1.1rem }
</style>
<h1>${escapeHtml(title)}</h1>
${body}
</html>
`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Whether a client with this value of Accept is a browser, which names HTML. */
export function wantsHtml(accept: string | null): boolean {
  return accept !== null && accept.includes("text/html");
}
