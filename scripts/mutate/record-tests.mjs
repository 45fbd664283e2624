// A setup file of Vitest: records which tests run.
import { beforeEach } from "vitest";
import { mark } from "./record-hit.mjs";

const nameOf = (task) => (task.suite === undefined ? task.name : `${nameOf(task.suite)} ${task.name}`);

mark("file");
beforeEach(({ task }) => {
  const name = JSON.stringify(nameOf(task));
  mark(`begin ${name}`);
  return () => mark(`end ${name}`);
});
