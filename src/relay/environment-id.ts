/**
 * 1 to 256 visible characters. Blanks and invisible characters would make two ids look alike, `*` is a pattern in a token
 * table, and `.` and `..` are lost from a URL. U+2800 is a blank that Unicode calls a symbol.
 */
const ENVIRONMENT_ID = /^(?!\.{1,2}$)[^\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800*]{1,256}$/u;

/** Whether a relay accepts an environment's name. */
export function isEnvironmentId(text: string): boolean {
  return ENVIRONMENT_ID.test(text);
}

/** Whether a token table may contain a name, or the start of names with `*` at its end. */
export function isEnvironmentPattern(text: string): boolean {
  return isEnvironmentId(text.replace(/\*$/, "x"));
}
