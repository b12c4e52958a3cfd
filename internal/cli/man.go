package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual pages are made of what the commands say of themselves. A command and its parents are
// joined by "-": gclient-list.1.

// codes is what a page says of exit codes where its command says nothing else.
const codes = `0 done; 1 the answer is no (refused, invalid, not found, not allowed); 2 wrong usage; 3 could not be done
(no broker, I/O, not yet).`

// ExitCodes is the annotation under which a command has exit codes of its own, for its manual page.
const ExitCodes = "exit codes"

// manCommand is hidden: who packs the programs needs it, and make man.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a folder",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(_ *cobra.Command, args []string) error { return manual(root, args[0]) },
	}
}

// manual writes the pages of all commands of a program into a folder.
func manual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the manual: %w", err)
	}
	return eachCommand(root, func(cmd *cobra.Command) error {
		file := filepath.Join(dir, pageOf(cmd)+".1")
		if err := os.WriteFile(file, []byte(page(cmd)), 0o644); err != nil {
			return fmt.Errorf("writing a page of the manual: %w", err)
		}
		return nil
	})
}

// eachCommand visits those that a user may see.
func eachCommand(cmd *cobra.Command, do func(*cobra.Command) error) error {
	if err := do(cmd); err != nil {
		return err
	}
	for _, sub := range cmd.Commands() {
		if sub.Hidden || sub.Name() == "help" || sub.Name() == "completion" {
			continue
		}
		if err := eachCommand(sub, do); err != nil {
			return err
		}
	}
	return nil
}

func pageOf(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// page is the manual page of a command, in man(7).
func page(cmd *cobra.Command) string {
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	fmt.Fprintf(&b, ".TH %s 1\n", roff(strings.ToUpper(pageOf(cmd))))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(pageOf(cmd)), roff(lower(cmd.Short)))
	section("SYNOPSIS")
	fmt.Fprintf(&b, ".B %s\n", roff(cmd.UseLine()))
	section("DESCRIPTION")
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	paragraphs(&b, long)
	if cmd.HasAvailableSubCommands() {
		section("COMMANDS")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	flags(&b, "OPTIONS", cmd.NonInheritedFlags())
	flags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		section("EXAMPLES")
		b.WriteString(".nf\n")
		for line := range strings.Lines(cmd.Example) {
			b.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
		}
		b.WriteString(".fi\n")
	}
	section("EXIT STATUS")
	own := cmd.Annotations[ExitCodes]
	if own == "" {
		own = codes
	}
	paragraphs(&b, own)
	related(&b, cmd)
	return b.String()
}

func related(b *strings.Builder, cmd *cobra.Command) {
	var pages []string
	if cmd.HasParent() {
		pages = append(pages, pageOf(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
			pages = append(pages, pageOf(sub))
		}
	}
	if len(pages) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, p := range pages {
		end := ","
		if i == len(pages)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(p), end)
	}
}

func flags(b *strings.Builder, title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n.B %s", roff(name))
		if value != "" {
			b.WriteString(" " + roff(value))
		}
		b.WriteString("\n" + roff(usage))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" && f.DefValue != "0s" {
			b.WriteString(roff(" (default " + f.DefValue + ")"))
		}
		b.WriteString("\n")
	})
}

// paragraphs writes text as it stands: a line that is indented, or is part of a table, stays one.
func paragraphs(b *strings.Builder, text string) {
	for i, p := range strings.Split(strings.Trim(text, "\n"), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		kept := strings.Contains("\n"+p, "\n ")
		if kept {
			b.WriteString(".nf\n")
		}
		for line := range strings.Lines(p) {
			b.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
		}
		if kept {
			b.WriteString(".fi\n")
		}
	}
}

func lower(s string) string {
	if len(s) > 1 && s[1] >= 'a' && s[1] <= 'z' {
		return strings.ToLower(s[:1]) + s[1:]
	}
	return s
}

// roff is text without what means something to roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", "\\`", "^", `\(ha`, "~", `\(ti`).Replace(s)
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		}
	}
	return b.String()
}
