import type { Requirements } from "./requirement.ts";

export const filesWatchRequirements = {
  "fs.watchMissing:watching": {
    section: "6.11",
    behavior:
      "fs/watchMissing answers {watching: true} for paths that do not exist, whose parents may be missing too.",
  },
  "fs.watchMissing:nothing": { section: "6.11", behavior: "An empty list is not watched." },
  "fs.watchMissing:exists": {
    section: "6.11",
    behavior: "A list with a path that exists is not watched; a broken link exists.",
  },
  "fs.watchMissing:count": { section: "6.11", behavior: "Up to 64 paths are watched, 65 are not." },
  "fs.watchMissing:below-file": {
    section: "6.11",
    behavior: "A path below a file, below a link or with a name that is too long is not watched.",
  },
  "fs.watchMissing:no-events": {
    section: "6.11",
    behavior: "What the system does not report, as in /proc and /sys, is not watched.",
  },
  "fs.watchMissing:present": {
    section: "6.11",
    behavior: "The present path must exist and be no link; null is none.",
  },
  "fs.watchMissing:foreign": {
    section: "6.11",
    behavior: "A path of another system is not watched, and is no error.",
  },
  "fs.watchMissing:params": {
    section: "6.11",
    behavior: "watchId and missing are required, and every path must be a path URI.",
  },
  "fs.missingChanged:message": {
    section: "9.3",
    behavior: "fs/missingChanged has the watchId and nothing else, and needs no answer.",
  },
  "fs.missingChanged:appears": {
    section: "6.11",
    behavior:
      "A watch fires when a file, a directory, a link, a broken link, a pipe or another name of a file appears.",
  },
  "fs.missingChanged:renamed": {
    section: "6.11",
    behavior: "A watch fires when something is renamed to the path.",
  },
  "fs.missingChanged:parent-appears": {
    section: "6.11",
    behavior: "A watch fires when a missing parent appears, and when all of the path appears at once.",
  },
  "fs.missingChanged:parent-goes": {
    section: "6.11",
    behavior: "A watch fires when a parent of a watched path is removed or renamed.",
  },
  "fs.missingChanged:any-path": { section: "6.11", behavior: "Each of several paths fires the watch." },
  "fs.missingChanged:short-lived": {
    section: "6.11",
    behavior: "A watch fires for a path that has gone again at once.",
  },
  "fs.missingChanged:own-request": {
    section: "6.11",
    behavior: "A watch fires for what the same connection writes right behind it.",
  },
  "fs.missingChanged:siblings": {
    section: "6.11",
    behavior: "Other names in the same directory, alike or not, do not fire a watch.",
    transports: ["ws", "memory"],
  },
  "fs.missingChanged:once": { section: "6.11", behavior: "A watch fires once, however much happens." },
  "fs.missingChanged:present-goes": {
    section: "6.11",
    behavior: "A watch fires when the present path is removed, renamed or replaced.",
  },
  "fs.missingChanged:present-changes": {
    section: "6.11",
    behavior: "A watch fires when the present file is written to.",
  },
  "fs.missingChanged:present-contents": {
    section: "6.11",
    behavior: "What is made in a present directory does not fire a watch.",
    transports: ["ws", "memory"],
  },
  "fs.watchMissing:replaced": { section: "6.11", behavior: "A new watch ends the one before it." },
  "fs.watchMissing:replaced-by-nothing": {
    section: "6.11",
    behavior:
      "A call that watches nothing, for whatever reason but invalid params, ends the watch before it.",
  },
  "fs.watchMissing:stale-id": {
    section: "6.11",
    behavior:
      "A watchId that is not higher than every earlier one is not watched, and the newest watch stays.",
  },
  "fs.watchMissing:used-ids": {
    section: "6.11",
    behavior:
      "The ids of calls that watched nothing and of watches that fired are used up; 0 is never accepted.",
  },
  "fs.watchMissing:again": {
    section: "6.11",
    behavior: "After a watch has fired, a higher id watches again.",
  },
  "fs.watchMissing:per-connection": {
    section: "6.11",
    behavior: "Connections have watches and ids of their own.",
    transports: ["ws", "memory"],
  },
  "fs.watchMissing:disconnect": {
    section: "6.11",
    behavior: "Watches and their ids end with the connection, also when its session is resumed.",
    transports: ["ws", "memory"],
  },
} satisfies Requirements;
