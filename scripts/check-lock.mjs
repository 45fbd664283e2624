// Checks that package-lock.json is complete, so that `npm ci` works on every platform. npm omits a platform package
// from the lock if it was never published; a gap therefore means that a dependency must stay at a version that was
// published for every platform.
import { readFileSync } from "node:fs";

const lock = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"));
const faults = findFaults(lock.packages);
for (const fault of faults) console.error(`package-lock.json: ${fault}`);
process.exitCode = faults.length === 0 ? 0 : 1;

function findFaults(packages) {
  return Object.entries(packages).flatMap(([path, entry]) => [
    ...(path !== "" && entry.integrity === undefined ? [`${path} has no integrity`] : []),
    ...(entry.resolved === undefined ? [] : [`${path} has a download address (see .npmrc)`]),
    ...Object.entries({ ...entry.dependencies, ...entry.optionalDependencies })
      .map(([name, range]) => findGap(packages, path, name, range))
      .filter((gap) => gap !== undefined),
  ]);
}

function findGap(packages, dependent, name, range) {
  const found = findInstalled(packages, dependent, name);
  const of = `${name}@${range}, which ${dependent.replace(/^.*node_modules\//, "") || "the project"} asks for,`;
  if (found === undefined) return `${of} is missing`;
  const isExact = /^\d+\.\d+\.\d+[^\s|]*$/.test(range);
  return isExact && found.version !== range ? `${of} is there as ${found.version}` : undefined;
}

/** Node's lookup order: below the dependent, then in every folder above. */
function findInstalled(packages, dependent, name) {
  const parents = dependent.split("/node_modules/");
  for (let depth = parents.length; depth > 0; depth -= 1) {
    const folder = parents.slice(0, depth).join("/node_modules/");
    const found = packages[`${folder}/node_modules/${name}`.replace(/^\//, "")];
    if (found !== undefined) return found;
  }
  return packages[`node_modules/${name}`];
}
