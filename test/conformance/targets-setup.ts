import { startTargetsOfFile } from "./verifies.ts";

// Vitest runs this before each file.
startTargetsOfFile();
