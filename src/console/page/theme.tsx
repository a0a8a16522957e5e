import { Select } from './parts/controls.tsx';

const SETTING = 'theme';
const THEMES = ['system', 'light', 'dark'] as const;

const chosen = (): string => localStorage.getItem(SETTING) ?? 'system';

/** Applies the chosen theme, which is the only setting that the page keeps in localStorage. */
export function startTheme(): void {
  document.documentElement.style.colorScheme = chosen() === 'system' ? '' : chosen();
}

export function ThemeChoice() {
  return (
    <label class="theme">
      Theme
      <Select
        value={chosen()}
        options={THEMES}
        choose={(theme) => {
          localStorage.setItem(SETTING, theme);
          startTheme();
        }}
      />
    </label>
  );
}
