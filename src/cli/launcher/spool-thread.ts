// dist/spool-thread.js: writes the output of a durable server's processes to disk, and reads it, in a thread.
import { parentPort, workerData } from "node:worker_threads";
import { serveSpool, type SpoolPlace } from "../../capabilities/process/output/spool/spool-thread.ts";

serveSpool(parentPort!, workerData as SpoolPlace);
