// The sandbox needs bubblewrap, so the tests of the sandbox do.
import { ensureProgram } from "./debian-package.mjs";

if (!ensureProgram("bwrap", "bubblewrap")) process.exitCode = 1;
