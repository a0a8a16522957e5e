const SETTING = 'theme';
const THEMES = ['system', 'light', 'dark'] as const;

const chosen = (): string => localStorage.getItem(SETTING) ?? 'system';

/** Applies the chosen theme, which is the only setting that the page keeps in localStorage. */
export function startTheme(): void {
  document.documentElement.dataset['theme'] = chosen();
}

export function ThemeChoice() {
  return (
    <label class="theme">
      Theme
      <select
        value={chosen()}
        onChange={({ currentTarget: { value } }) => {
          localStorage.setItem(SETTING, value);
          startTheme();
        }}
      >
        {THEMES.map((theme) => (
          <option key={theme}>{theme}</option>
        ))}
      </select>
    </label>
  );
}
