/** A JSON number as it was written (RFC 8259 §6), for the ones that a double does not give back: `1.10`, `-0`, `9007199254740993`. */
export class JsonNumber {
  readonly lexeme: string;

  constructor(lexeme: string) {
    this.lexeme = lexeme;
  }
}
