/** Outlines in a square of 16, drawn with a stroke of 1.5. */
const OUTLINES = {
  processes: "M2.5 3.5h2M2.5 8h2M2.5 12.5h2M7 3.5h6.5M7 8h6.5M7 12.5h6.5",
  terminal: "M2 3.5h12v9H2zM4.5 6.5 6.5 8l-2 1.5M8.5 10h3",
  folder: "M2 4.5V12a1 1 0 0 0 1 1h10a1 1 0 0 0 1-1V6a1 1 0 0 0-1-1H8L6.5 3.5H3a1 1 0 0 0-1 1Z",
  file: "M4 2h5l3.5 3.5V13a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V3a1 1 0 0 1 1-1ZM9 2v3.5h3.5",
  link: "M6.5 9.5a2.5 2.5 0 0 0 3.5 0l2.5-2.5A2.5 2.5 0 0 0 9 3.5l-.7.7M9.5 6.5a2.5 2.5 0 0 0-3.5 0L3.5 9A2.5 2.5 0 0 0 7 12.5l.7-.7",
  inspector: "M2.5 5.5h10M10 3l2.5 2.5L10 8M13.5 10.5h-10M6 8l-2.5 2.5L6 13",
  ports: "M5.5 2v3.5M10.5 2v3.5M3.5 5.5h9V8a4.5 4.5 0 0 1-9 0zM8 12.5V14",
  system: "M2 9h2.5l1.5-5 3 9 2-6 1 2h2",
  rows: "M2.5 3h11v10h-11zM2.5 6.3h11M2.5 9.7h11M6 3v10",
  machines: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.01M5 11h.01",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3l3.2 3.2",
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3 8.5 6.5 12 13 4.5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  "chevron-right": "M6 3.5 10.5 8 6 12.5",
  "chevron-down": "M3.5 6 8 10.5 12.5 6",
  "arrow-up": "M8 13V3M4 7l4-4 4 4",
  "arrow-down": "M8 3v10M4 9l4 4 4-4",
  play: "M5 3.5v9l7-4.5z",
  stop: "M4 4h8v8H4z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6L13 6M13 3v3h-3",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  upload: "M8 10.5v-7M5 6l3-3 3 3M3 13h10",
  copy: "M5.5 5.5h7v8h-7zM10.5 5.5v-3h-7v8h2",
  edit: "M3 13l.7-3L10.5 3.2a1.4 1.4 0 0 1 2 0l.3.3a1.4 1.4 0 0 1 0 2L6 12.3z",
  trash: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.5 9h6l.5-9",
  split: "M2.5 3h11v10h-11zM8 3v10",
  "split-down": "M2.5 3h11v10h-11zM2.5 8h11",
  keyboard: "M1.5 4.5h13v7h-13zM4 7h.01M6.7 7h.01M9.3 7h.01M12 7h.01M5 9.5h6",
  sun: "M8 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM8 2v1M8 13v1M2 8h1M13 8h1M3.8 3.8l.7.7M11.5 11.5l.7.7M12.2 3.8l-.7.7M4.5 11.5l-.7.7",
  moon: "M13 9.3A5.5 5.5 0 0 1 6.7 3 5.5 5.5 0 1 0 13 9.3Z",
  lock: "M3.5 7.5h9v6h-9zM5.5 7.5v-2a2.5 2.5 0 0 1 5 0v2",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4Z",
  people:
    "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 3a2.3 2.3 0 0 1 0 4.4M12.3 9.8c1.4.6 2.2 1.9 2.2 3.7",
  warning: "M8 2.5 14.5 13.5h-13zM8 6.5v3.2M8 11.6h.01",
  wrap: "M2.5 4h11M2.5 8h8.5a2.2 2.2 0 0 1 0 4.5H8M9.8 10.5 7.8 12.5l2 2M2.5 12.5h2",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.5V8l2.3 1.5",
  leave: "M9.5 2.5h-6v11h6M6.5 8h7.5M11.5 5.5 14 8l-2.5 2.5",
} as const;

export type IconName = keyof typeof OUTLINES;

/** Decoration: whatever has an icon also has a name. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={OUTLINES[name]} />
    </svg>
  );
}
