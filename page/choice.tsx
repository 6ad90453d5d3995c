/** One of several texts. */
interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly options: ReadonlyArray<readonly [value: string, text: string]>
  readonly onChoice: (value: string) => void
  readonly isDisabled?: boolean
}

export function Choice ({ label, value, options, onChoice, isDisabled = false }: ChoiceProps) {
  return (
    <select aria-label={label} disabled={isDisabled} value={value} onChange={({ currentTarget }) => onChoice(currentTarget.value)}>
      {options.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
    </select>
  )
}

/** Options that are shown as they are. */
export const asOptions = (values: readonly string[]): Array<readonly [string, string]> => values.map((value) => [value, value])
