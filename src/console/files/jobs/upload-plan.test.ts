import { expect, test } from "vitest";
import { planUpload, topNames } from "./upload-plan.ts";

const dropped = {
  files: [
    { file: new Blob(["abc"]), relative: "a.txt" },
    { file: new Blob(["de"]), relative: "photos/2026/b %#?.jpg" },
  ],
  directories: ["photos", "photos/empty"],
};

test("directories are made before what is in them, each once, also those without files", () => {
  const plan = planUpload("/home/me", dropped);
  expect(plan.directories).toEqual(["/home/me/photos", "/home/me/photos/empty", "/home/me/photos/2026"]);
  expect(plan.files.map(({ path }) => path)).toEqual(["/home/me/a.txt", "/home/me/photos/2026/b %#?.jpg"]);
  expect(plan.bytes).toBe(5);
});

test("the root takes files as any directory does", () => {
  expect(planUpload("/", dropped).files[0]!.path).toBe("/a.txt");
  expect(planUpload("/", dropped).directories[0]).toBe("/photos");
});

test("what may be in the way has the names of the first level", () => {
  expect([...topNames(dropped)]).toEqual(["a.txt", "photos"]);
});
