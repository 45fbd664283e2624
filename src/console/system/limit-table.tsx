import { useSignal } from "@preact/signals";
import type { Result } from "../../client/browser.ts";
import { Failure } from "../connection/failure.tsx";
import { useHost } from "../connection/use-host.ts";
import { type DataColumn, DataTable } from "../ui/data-table.tsx";
import { writeTo } from "../ui/field.tsx";
import { formatDuration, formatSize } from "../../base/amounts.ts";
import { usePolled } from "../ui/use-polled.ts";

const EVERY_MS = 2000;
/** Share from which a limit is highlighted. */
const NEAR = 0.8;

type Limit = Result<"server/limits">["limits"][number];

const COLUMNS: readonly DataColumn<Limit>[] = [
  { title: "Limit", class: "code", cell: ({ key }) => key },
  { title: "Value", class: "right number", cell: (limit) => format(limit, limit.value) },
  {
    title: "Used",
    cell: (limit) => (limit.used === undefined ? null : <Use limit={limit} used={limit.used} />),
  },
  { title: "What it limits", class: "wraps soft", cell: ({ doc }) => doc },
];

/** The server's limits, and how much of each is used. */
export function LimitTable() {
  const host = useHost();
  const filter = useSignal("");
  const polled = usePolled((signal) => host.request("server/limits", null, { signal }), {
    everyMs: EVERY_MS,
    deps: [host],
  });
  const { value, error } = polled.value;
  if (value === undefined) return <Failure error={error} />;
  const wanted = filter.value.toLowerCase();
  const shown = value.limits.filter(({ key, doc }) => `${key} ${doc}`.toLowerCase().includes(wanted));
  return (
    <>
      <div class="system-filter">
        <input
          type="search"
          aria-label="Filter limits"
          placeholder="Filter"
          value={filter.value}
          onInput={writeTo(filter)}
        />
      </div>
      <DataTable columns={COLUMNS} rows={shown} rowKey={({ key }) => key} />
    </>
  );
}

function Use({ limit, used }: { readonly limit: Limit; readonly used: number }) {
  const share = used / Math.max(1, limit.value);
  return (
    <span class="system-use">
      <meter aria-label={`${limit.key} in use`} min={0} max={1} high={NEAR} value={share} />
      <span class="number">{format(limit, used)}</span>
    </span>
  );
}

function format({ unit }: Limit, value: number): string {
  if (unit === "bytes") return formatSize(value);
  return unit === "ms" ? formatTime(value) : value.toLocaleString("en");
}

function formatTime(ms: number): string {
  return ms < 1000 ? `${ms} ms` : formatDuration(ms);
}
