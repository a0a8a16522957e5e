test('passes', () => undefined);
