// Citations of the protocol, in the forms of docs/protocol/README.md: a page and a section, then
// further sections of the same page.

export interface Citation {
  /** undefined when a section has no page and there is none before it. */
  readonly page: string | undefined;
  readonly section: string;
  /** The text around it. */
  readonly excerpt: string;
}

const pattern =
  /(?:(, and |, | and | to )|\b([a-z]+-service) )?\u00a7(\d+(?:\.\d+)*)?(?: (?:rule|no\.) \d+)?/g;

/** Joins the lines of a comment or a paragraph. */
function joinLines(text: string): string {
  return text.replace(/\s*\n\s*(?:(?:\*|\/\/|#)(?!\*)\s+)?/g, ' ');
}

/** Every section that a text cites. `ownPage`: the page of sections without one. */
export function citationsIn(text: string, ownPage?: string): Citation[] {
  const line = joinLines(text);
  let page: string | undefined;
  let end = -1;
  return [...line.matchAll(pattern)].map((match) => {
    const [whole, joint, name, section = ''] = match;
    const goesOn = joint !== undefined && match.index === end;
    page = name ?? (goesOn ? page : ownPage);
    end = match.index + whole.length;
    const excerpt = line.slice(Math.max(0, match.index - 30), end + 10).trim();
    return { page, section, excerpt };
  });
}
