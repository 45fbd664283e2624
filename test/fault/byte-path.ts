/**
 * A path as the system has it: bytes, each as one character here (latin1), so that names that are not UTF-8 can be
 * joined, compared and printed like any other.
 */
export type BytePath = string;

/** The form that Node's file functions take. */
export const onDisk = (path: BytePath): Buffer => Buffer.from(path, "latin1");

export const fromDisk = (bytes: Uint8Array): BytePath => Buffer.from(bytes).toString("latin1");

/** A name that is text. */
export const fromText = (text: string): BytePath => Buffer.from(text).toString("latin1");

/** As a server shows a name in JSON: what is not UTF-8 is lost. */
export const toText = (path: BytePath): string => onDisk(path).toString("utf8");

export function toUri(path: BytePath): string {
  const encoded = path.replaceAll(
    /[^A-Za-z0-9._/-]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
  return `file://${encoded}`;
}

export function fromUri(uri: string): BytePath {
  if (!uri.startsWith("file:///")) throw new Error(`not a path URI: ${uri}`);
  return fromText(uri.slice("file://".length)).replaceAll(/%([0-9A-Fa-f]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

export const joinPath = (directory: BytePath, name: BytePath): BytePath =>
  name === "" ? directory : `${directory}/${name}`;

export const parentOf = (path: BytePath): BytePath => path.slice(0, path.lastIndexOf("/")) || "/";
