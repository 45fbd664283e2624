/** The id of a session opens it, and so does the token of a link to the console. */
const SESSION_ID = /"(sessionId|resumeSessionId)":\s?"(?:[^"\\]|\\.)*"?/g;
const TOKEN = /"(token)":\s?"(?:[^"\\]|\\.)*"?/g;
const HIDDEN = '"$1":"(hidden)"';

/** The text of a message without what must not be seen over a shoulder. Ids of the dialect v0 open nothing. */
export function hideSecrets(text: string, method: string | undefined): string {
  if (method?.startsWith("command/")) return text;
  const hidden = text.includes('essionId"') ? text.replace(SESSION_ID, HIDDEN) : text;
  return method === "console/link" ? hidden.replace(TOKEN, HIDDEN) : hidden;
}
