import { type Dirent, existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { resultOr } from "../../native/result-or.ts";
import { ownLocation } from "../files/location.ts";
import { CapabilityFiles } from "./capability-files.ts";
import { compareVersions } from "./version-order.ts";

/** Location of an installed plugin, before it is inspected. */
export interface InstalledPlugin {
  /** `name@marketplace`. */
  readonly id: string;
  readonly version: string;
  readonly directory: string;
  readonly remoteId: string | null;
}

const REMOTE_INSTALL_FILE = ".codex-remote-plugin-install.json";
const MARKETPLACE_NAME = /^[A-Za-z0-9_-]+$/;
const PLUGIN_NAME = /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/;
const VERSION_NAME = /^(?!\.{1,2}$)[A-Za-z0-9._+-]+$/;
/** A version under development; preferred over all others. */
const LOCAL_VERSION = "local";
const MAX_PLUGINS = 512;

/**
 * Finds MARKETPLACE/NAME/VERSION below a directory, one version of each plugin. `complete` is false if anything failed.
 */
export async function findInstalledPlugins(
  cache: string,
): Promise<{ plugins: InstalledPlugin[]; complete: boolean }> {
  const search = new PluginSearch();
  await search.run(cache);
  const { plugins, complete } = search;
  return { plugins: plugins.sort((left, right) => (left.id < right.id ? -1 : 1)), complete };
}

class PluginSearch {
  readonly plugins: InstalledPlugin[] = [];
  complete = true;

  async run(cache: string): Promise<void> {
    for (const { name: marketplace } of await this.#list(cache, MARKETPLACE_NAME)) {
      const directory = join(cache, marketplace);
      for (const { name } of await this.#list(directory, PLUGIN_NAME)) {
        if (this.plugins.length >= MAX_PLUGINS) {
          this.complete = false;
          return;
        }
        await this.#add(`${name}@${marketplace}`, join(directory, name));
      }
    }
  }

  async #add(id: string, directory: string): Promise<void> {
    const entries = await this.#list(directory, VERSION_NAME);
    const versions = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    if (versions.length === 0) return;
    const version = versions.includes(LOCAL_VERSION)
      ? LOCAL_VERSION
      : versions.reduce((best, next) => (compareVersions(next, best) > 0 ? next : best));
    const remoteId = await this.#readRemoteId(join(directory, REMOTE_INSTALL_FILE));
    this.plugins.push({ id, version, directory: join(directory, version), remoteId });
  }

  async #list(directory: string, names: RegExp): Promise<Dirent[]> {
    try {
      const entries = await readdir(directory, { withFileTypes: true });
      return entries.filter(({ name }) => names.test(name));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== "ENOENT" && code !== "ENOTDIR") this.complete = false;
      return [];
    }
  }

  async #readRemoteId(path: string): Promise<string | null> {
    if (!existsSync(path)) return null;
    const file = await new CapabilityFiles().read(ownLocation(path));
    const id = file === undefined ? null : parseRemoteId(file.contents);
    if (id === null) this.complete = false;
    return id;
  }
}

function parseRemoteId(text: string): string | null {
  return resultOr(null, () => {
    const value = JSON.parse(text) as { schema_version?: unknown; remote_plugin_id?: unknown } | null;
    const id = value?.remote_plugin_id;
    return value?.schema_version === 1 && typeof id === "string" ? id.trim() || null : null;
  });
}
