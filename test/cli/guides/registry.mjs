// A registry of npm for the packed packages in a directory, at which `node registry.mjs DIRECTORY PORT` listens.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const [, , directory, port] = process.argv;
const tarballs = readdirSync(directory).filter((name) => name.endsWith(".tgz"));
const manifests = tarballs.map((file) => {
  const text = execFileSync("tar", ["-xzOf", join(directory, file), "package/package.json"], {
    encoding: "utf8",
  });
  return { ...JSON.parse(text), dist: { tarball: `http://127.0.0.1:${port}/-/${file}` } };
});

createServer((request, response) => {
  const path = decodeURIComponent(request.url).slice(1);
  if (path.startsWith("-/") && tarballs.includes(path.slice(2))) {
    response.end(readFileSync(join(directory, path.slice(2))));
    return;
  }
  const manifest = manifests.find(({ name }) => name === path);
  if (manifest === undefined) {
    response.writeHead(404).end("{}");
    return;
  }
  const { name, version } = manifest;
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: manifest } }));
}).listen(Number(port), "127.0.0.1", () => console.log("ready"));
