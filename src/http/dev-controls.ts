/** What a daemon that was started with `--dev` lets a management key do to it. Times and durations are in milliseconds. */
export interface DevControls {
  readonly clock: {
    now(): number;
    /** How far it is ahead of the machine's clock. */
    offset(): number;
    /** Each resolves to how many records were removed because they have expired. */
    set(at: number): Promise<number>;
    advance(by: number): Promise<number>;
    reset(): Promise<number>;
  };
  /** Puts the vault back to how it was made; absent where it is kept. */
  readonly reset?: (() => Promise<void>) | undefined;
}
