/** JSON text that is spliced into a reply as it stands: an opened value is never parsed again only to be printed. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
