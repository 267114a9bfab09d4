// The parts of Markdown pages that tests need.

export interface Heading {
  readonly text: string;
  /** What a link to the heading has after `#`. */
  readonly anchor: string;
}

function anchorOf(text: string): string {
  const shown = text.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return shown
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
}

export function withoutCodeBlocks(page: string): string {
  return page.replace(/^ *```[\s\S]*?^ *```/gm, '');
}

/** The headings of a page, with their anchors on GitHub. */
export function headingsOf(page: string): Heading[] {
  const seen = new Map<string, number>();
  return [...withoutCodeBlocks(page).matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, text = '']) => {
    const anchor = anchorOf(text);
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return { text, anchor: before === 0 ? anchor : `${anchor}-${before}` };
  });
}
