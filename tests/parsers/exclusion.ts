/** Functions that are left out of the table of parsers. In: nothing. Out: what an entry of the lists has. */

export interface Exceptions {
  /** Of all of these. */
  readonly reason: string;
  /** Functions, `Class.method` or `new Class`, by file. */
  readonly functions: Readonly<Record<string, readonly string[]>>;
}
