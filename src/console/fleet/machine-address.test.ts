import { expect, test } from "vitest";
import { addressOf, linkTo, machineAt } from "./machine-address.ts";

test.each([
  { id: "web-1", view: "console" },
  { id: "web-1", view: "terminal" },
  { id: "a/b ?#%", view: "console" },
] as const)("the address of %j leads back to it", (address) => {
  expect(machineAt(addressOf(address))).toEqual(address);
});

test.each(["/", "/p", "/p/", "/p/a/b", "/x/web-1", "/p/%", "/t/%ff"])("%s names no machine", (path) => {
  expect(machineAt(path)).toBeUndefined();
});

test("a link leads to the view", () => {
  const link = "http://127.0.0.1:4000/#link=abc";
  expect(linkTo(link, "console")).toBe(link);
  expect(linkTo(link, "terminal")).toBe("http://127.0.0.1:4000/t/~new#link=abc");
});
