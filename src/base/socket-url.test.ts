import { expect, it } from "vitest";
import { socketPathOf, socketUrl } from "./socket-url.ts";

it.each([
  ["unix:///run/x.sock", "/run/x.sock"],
  ["unix:/run/x.sock", "/run/x.sock"],
  ["unix:///a%20b/%25", "/a b/%"],
])("%s names the socket %s", (url, path) => {
  expect(socketPathOf(url, "unix")).toBe(path);
  expect(socketPathOf(`ws+${url}`, "ws+unix")).toBe(path);
});

it.each(["unix://run/x", "unix:x", "unix:", "unix:////x", "unix:///%", "unix:///a%00b", "ws://x", "/x", ""])(
  "%j names no socket",
  (url) => {
    expect(socketPathOf(url, "unix")).toBeUndefined();
  },
);

it.each(["/run/x", "/a b/é?#%:"])("the URL of %j leads back to it", (path) => {
  expect(socketPathOf(socketUrl(path), "ws+unix")).toBe(path);
});
