import mime from 'mime';

/**
 * The media type of a file name, by its extension and the registry of media types; undefined for an
 * unknown extension.
 */
export function mediaTypeOf(name: string): string | undefined {
  const [, ending] = /\.([^./]+)$/.exec(name) ?? [];
  return ending === undefined ? undefined : (mime.getType(ending) ?? undefined);
}
