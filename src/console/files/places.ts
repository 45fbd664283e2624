/** Where one was in a directory, for coming back. */
export interface PlaceInDirectory {
  readonly current?: string | undefined;
  readonly top: number;
}

const MOST = 200;
const places = new Map<string, PlaceInDirectory>();

export function placeIn(directory: string): PlaceInDirectory {
  return places.get(directory) ?? { top: 0 };
}

export function rememberPlace(directory: string, place: Partial<PlaceInDirectory>): void {
  const known = placeIn(directory);
  places.delete(directory);
  places.set(directory, { ...known, ...place });
  if (places.size > MOST) places.delete(places.keys().next().value!);
}
