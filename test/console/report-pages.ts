import { afterEach } from "vitest";
import { reportPages } from "./console-page.ts";

// Vitest runs this before each file.
afterEach(reportPages);
