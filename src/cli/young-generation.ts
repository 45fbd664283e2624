import { setFlagsFromString } from "node:v8";

// Output becomes text that lives for microseconds. V8 would give it 16 MiB and more after a while, for nothing but memory that is written once and then rests.
// This must run before anything else has made it grow.
setFlagsFromString("--semi-space-growth-factor=1");
