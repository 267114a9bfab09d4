const form = /^[0-9A-F]{16}$/;

/** Tells deleted containers of one name apart (blob-service §6.1). `id`: that of the container. */
export function deletionId(id: number): string {
  return id.toString(16).toUpperCase().padStart(16, '0');
}

/** The id of the container; undefined for a text that `deletionId` does not make. */
export function idOfDeletion(text: string): number | undefined {
  const id = form.test(text) ? Number.parseInt(text, 16) : NaN;
  return Number.isSafeInteger(id) ? id : undefined;
}
