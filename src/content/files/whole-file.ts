import type { ContentFiles } from './content-files.js';

/** Makes a small file with all of its content durable, but not its name. */
export async function writeWholeFile(
  files: ContentFiles,
  path: string,
  content: Buffer,
): Promise<void> {
  const file = await files.create(path);
  try {
    await file.append([content]);
    await file.sync();
  } finally {
    await file.close();
  }
}
