import { expect, it } from "vitest";
import { titleOf } from "./page-title.ts";

const PROCESSES = { title: "Processes", path: "/p" };
const FILES = { title: "Files", path: "/f" };
const INSPECTOR = { title: "Inspector", path: "/i" };

it.each([
  ["/", PROCESSES, "Processes · exec-server"],
  ["/p", PROCESSES, "Processes · exec-server"],
  ["/p/build", PROCESSES, "build · Processes · exec-server"],
  ["/f/home/me/notes.txt", FILES, "notes.txt · Files · exec-server"],
  ["/f/home/me/", FILES, "me · Files · exec-server"],
  ["/f/", FILES, "Files · exec-server"],
  ["/f/a%E2%80%AEb%1B", FILES, "a\\u202eb\\x1b · Files · exec-server"],
  ["/p/%", PROCESSES, "Processes · exec-server"],
  ["/i/fs/readFile", INSPECTOR, "fs/readFile · Inspector · exec-server"],
  [`/p/${"x".repeat(200)}`, PROCESSES, `${"x".repeat(80)}… · Processes · exec-server`],
  ["/nowhere", undefined, "Not found · exec-server"],
])("%.30s of %j is called %.60s", (path, view, title) => {
  expect(titleOf(path, view)).toBe(title);
});
