/** Resolves when the text is written to stdout. A reader that went away ends the process quietly. */
export function writeOut(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      if (error.code === 'EPIPE') process.exit(0);
      reject(error);
    };
    process.stdout.once('error', fail);
    process.stdout.write(text, (error) => {
      if (error != null) return;
      process.stdout.off('error', fail);
      resolve();
    });
  });
}
