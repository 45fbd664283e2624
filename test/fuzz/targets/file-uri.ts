import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import {
  ForeignPathError,
  pathFromUri,
  PathUriError,
  resolveDots,
  uriFromPath,
} from "../../../src/base/file-uri.ts";
import { attempt, expectEqual, expectTrue, type Target } from "../target.ts";

const bytesOf = (path: string | Uint8Array): Buffer => Buffer.from(path as string);

/** The segments of a URI whose escapes are decoded one by one, and then its dots resolved. */
function expectedPath(pathname: string): Buffer {
  const decoded = pathname.replaceAll(/%([0-9a-fA-F]{2})|[^\p{ASCII}]/gu, (character, hex?: string) =>
    hex === undefined
      ? Buffer.from(character).toString("latin1")
      : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const kept: string[] = [];
  for (const name of decoded.split("/"))
    if (name === "..") kept.pop();
    else if (name !== "" && name !== ".") kept.push(name);
  return Buffer.from(`/${kept.join("/")}`, "latin1");
}

export const target: Target = {
  seeds: [
    "file:///",
    "file:///a/b.txt",
    "FILE:/a/./b//c/../d",
    "file:///a%20b/%c3%a9/%2e%2e%2Fetc",
    "file:///%ff/%25/x%2Fy",
    "file:///C:/x",
    "file://host/a",
    "file:///a?b#c",
    "file:///%00/bad/path/x",
    "http://host/a",
    "/a/b",
  ],
  words: [
    "file:",
    "file://",
    "/",
    "..",
    "%2e",
    "%2F",
    "%5c",
    "\\",
    "%",
    "%0",
    "%00",
    "\t",
    "\n",
    "?",
    "#",
    "C:",
    "C|",
    "@",
    ":80",
  ],
  run(input) {
    const uri = input.toString("utf8");
    const result = attempt(() => pathFromUri(uri), PathUriError as never, ForeignPathError as never);
    if ("error" in result) return;
    const path = bytesOf(result.value);
    const text = path.toString("latin1");
    expectTrue(text.startsWith("/"), "a path is absolute");
    expectTrue(!text.includes("\0"), "a path has no NUL");
    expectTrue(!text.split("/").some((name) => name === "." || name === ".."), "no dots are left");
    expectTrue(text === "/" || (!text.endsWith("/") && !text.includes("//")), "slashes stand alone");
    const url = new URL(uri);
    expectEqual(path, expectedPath(url.pathname), "the path of the URL parser, with its escapes decoded");
    // Node 20 leaves dots after a name that begins with one.
    if (!/%2f|%5c|%(?![0-9a-f]{2})/i.test(url.pathname) && isUtf8(path))
      expectEqual(
        text,
        Buffer.from(posix.resolve(fileURLToPath(url))).toString("latin1"),
        "the path of Node",
      );
    const again = uriFromPath(result.value);
    // A drive and a leading %00 mean something else.
    const returned = attempt(() => bytesOf(pathFromUri(again)), ForeignPathError as never);
    if ("value" in returned) expectEqual(returned.value, path, "its URI leads back");
    if (typeof result.value === "string") expectEqual(resolveDots(result.value), result.value, "is resolved");
  },
};
