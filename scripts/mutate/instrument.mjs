// Makes the sources record which of their functions run.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findFiles } from "./drawing.mjs";
import { analyse } from "./operators.mjs";

/**
 * Changes the sources below `root`, so that every program that runs them appends to `log`.
 * @returns {string[]} names of the functions, by the numbers in the log
 */
export function instrument(root, log) {
  const names = [];
  const recorder = join(root, "scripts/mutate/record-hit.mjs");
  const program = readFileSync(recorder, "utf8");
  writeFileSync(recorder, program.replace('LOG = ""', `LOG = ${JSON.stringify(log)}`));
  for (const file of findFiles(root)) {
    const path = join(root, file);
    const source = readFileSync(path, "utf8");
    const { functions } = analyse(file, source);
    const insertions = [[0, `import { hit as __hit } from "${recorder}"; __hit(${names.push(file) - 1}); `]];
    for (const { key, body } of functions) {
      const call = `__hit(${names.push(key) - 1})`;
      if (body.type === "BlockStatement") insertions.push([body.start + 1, `${call};`]);
      else insertions.push([body.start, `(${call}, `], [body.end, ")"]);
    }
    writeFileSync(path, inserted(source, insertions));
  }
  return names;
}

function inserted(source, insertions) {
  let result = "";
  let from = 0;
  for (const [at, text] of insertions.toSorted(([one], [other]) => one - other)) {
    result += source.slice(from, at) + text;
    from = at;
  }
  return result + source.slice(from);
}
