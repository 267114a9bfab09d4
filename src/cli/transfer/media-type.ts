import mime from 'mime';

/**
 * The media type of what has this name, by its ending and the registry of media types;
 * undefined when that says nothing.
 */
export function mediaTypeOf(name: string): string | undefined {
  const [, ending] = /\.([^./]+)$/.exec(name) ?? [];
  return ending === undefined ? undefined : (mime.getType(ending) ?? undefined);
}
