"""Manual pages from comments in PETSc's format: /*@ (function), /*MC (type), /*E (enum), /*S (struct).

read() parses them and lists what is wrong: parts that a page must have and lacks, and differences from the code that
follows it and from the public header."""
import os
import re

COMMENT = re.compile(r'/\*(@C|@|MC|E|S)\n(.*?)\n\s*(?:@|M|E|S)\*/\n', re.S)
SECTIONS = ('Input Parameter', 'Output Parameter', 'Options Database Key', 'Values', 'Fields', 'Level', 'Note', 'Errors', 'Source')
COLLECTIVE = ('Collective', 'Logically Collective', 'Not Collective')
LEVELS = ('beginner', 'intermediate', 'advanced', 'developer')
# Words in backticks that look like names: with capitals or as a call
NAME = re.compile(r'(?=\w*[A-Z])\w{2,}(?:\(\))?$|\w+\(\)$')


class Page:
    def __init__(self, source):
        self.source = source  # file:line
        self.name = self.brief = self.collective = self.synopsis = ''
        self.defines = []     # the names that the code after the comment declares, the page's own first
        self.arguments = []   # of a function; the members of an enum or struct
        self.sections = []    # (title, blocks); a block is a paragraph, or a list of pairs (term, text)
        self.seealso = []

    def items(self, *titles):
        return [item for title, blocks in self.sections if title in titles for block in blocks if isinstance(block, list) for item in block]

    def texts(self):
        yield self.brief
        for _, blocks in self.sections:
            for block in blocks:
                yield from [block] if isinstance(block, str) else [text for _, text in block]


def blocks_of(lines, warn):
    """Paragraphs, and lists whose items begin with + . - as first, further and last (. alone for an only one)."""
    blocks, marks = [], ''
    for line in lines + ['']:
        item = re.match(r'([+.-])\s+(\S.*?)\s+- (.*)', line)
        if not line.strip():
            if marks and not re.match(r'(\.|\+\.*-)$', marks):
                warn('list with the marks %s, expected + . - or a single .' % ' '.join(marks))
            marks = ''
            blocks.append(None)
        elif item:
            if not marks:
                blocks.append([])
            marks += item.group(1)
            blocks[-1].append((item.group(2), item.group(3)))
        elif re.match(r'[+.]\S*', line):
            warn('not understood: ' + line)
        elif marks:
            term, text = blocks[-1][-1]
            blocks[-1][-1] = term, text + ' ' + line.strip()
        elif blocks and blocks[-1]:
            blocks[-1] += ' ' + line.strip()
        else:
            blocks.append(line.strip())
    return [b for b in blocks if b]


def declaration(page, kind, code, warn):
    """What follows the comment: the synopsis, and what is declared."""
    if kind.startswith('@'):
        m = re.match(r'PetscErrorCode (\w+)\((.*?)\)\n', code)
        if m:
            page.synopsis, page.defines = m.group(0).strip() + ';', [m.group(1)]
            page.arguments = [re.sub(r'\[\]$', '', a).split()[-1].lstrip('*') for a in m.group(2).split(', ') if a != 'void']
    elif kind == 'MC':
        m = re.match(r'(#define \w+ +".*"\n)+', code)
        if m:
            page.synopsis, page.defines = m.group(0).strip(), re.findall(r'#define (\w+)', m.group(0))
    else:
        m = re.match(r'typedef (enum|struct) \{\n(.*?)\n\} (\w+);\n(?:PETSC_EXTERN const char \*const (\w+)\[\];\n)?', code, re.S)
        if m:
            page.synopsis = m.group(0).strip()
            if kind == 'E':
                page.arguments = re.findall(r'\w+', m.group(2))
            else:
                page.arguments = re.findall(r'(\w+)(?:\[\w+\])?[,;]', m.group(2))
            page.defines = [m.group(3)] + ([m.group(4)] if m.group(4) else []) + (page.arguments if kind == 'E' else [])
    if not m:
        warn('no declaration of what it is about follows')
    elif page.name != page.defines[0]:
        warn('%s follows' % page.defines[0])


def page_of(kind, text, code, source, warnings):
    page = Page(source)
    lines = text.split('\n')
    indent = min((len(l) - len(l.lstrip()) for l in lines if l.startswith(' ')), default=0)
    lines = [l[indent:] if l.startswith(' ' * indent) else l for l in lines]
    m = re.match(r'(\w+) - (?:\w+ = "\w+" - )?(.*)', lines[0])
    if not m:
        warnings.append('%s: the first line must be "Name - what it is"' % source)
        return page
    page.name = m.group(1)

    def warn(what):
        warnings.append('%s: %s: %s' % (source, page.name, what))

    lines[0] = m.group(2)
    body, _, seealso = '\n'.join(lines).partition('\n.seealso:')
    page.seealso = re.findall(r'`(\w+)(?:\(\))?`', seealso)
    parts = re.split(r'^(\w[\w /]*):(?: +(\w+))?$', body, flags=re.M) # brief, then title, word, text, ...
    head = blocks_of(parts[0].split('\n'), warn)
    page.brief, page.collective = head[0], ''.join(head[1:])
    for title, word, content in zip(parts[1::3], parts[2::3], parts[3::3]):
        singular = re.sub(r'(Parameter|Key|Note)s$', r'\1', title)
        if singular not in SECTIONS:
            warn('unknown section "%s:"' % title)
        if any(singular == t for t, _ in page.sections):
            warn('two sections "%s:"' % singular)
        blocks = ([word] if word else []) + blocks_of(content.split('\n'), warn)
        if not blocks:
            warn('empty section "%s:"' % title)
        elif title != singular and singular not in ('Errors', 'Source') and sum(len(b) if isinstance(b, list) else 1 for b in blocks) == 1:
            warn('one only in "%s:"' % title)
        page.sections.append((singular, blocks))
    declaration(page, kind, code, warn)

    if kind.startswith('@') and page.collective not in COLLECTIVE:
        warn('"%s" where one of these is expected: %s' % (page.collective, ', '.join(COLLECTIVE)))
    if dict(page.sections).get('Level') not in [[level] for level in LEVELS]:
        warn('"Level:" must be one of ' + ', '.join(LEVELS))
    if not page.seealso:
        warn('no .seealso')
    listed = [term.strip('`') for term, _ in page.items('Input Parameter', 'Output Parameter', 'Values', 'Fields')]
    if page.arguments != listed:
        warn('describes (%s), but the code has (%s)' % (', '.join(listed), ', '.join(page.arguments)))
    return page


def petsc_names(include):
    """Names that PETSc's headers declare, with their place among PETSc's manual pages."""
    names = {}
    for file in sorted(os.listdir(include)):
        if file.endswith('.h'):
            text = open(os.path.join(include, file), errors='replace').read()
            m = re.search(r'/\* SUBMANSEC = (\w+) \*/', text) or re.search(r'/\* MANSEC = (\w+) \*/', text)
            for name in re.findall(r'^\s*#\s*define (\w+)|^PETSC_EXTERN [^;(]*?\b(\w+)\(|^typedef [^;{]*?\b(\w+);|^\} (\w+);', text, re.M):
                names.setdefault(''.join(name), '%s/%s' % (m.group(1) if m else 'Sys', ''.join(name)))
            names.update((name, 'Sys/PetscErrorCode') for name in re.findall(r'^\s*(PETSC_ERR_\w+) +=', text, re.M))
    return names


def read(header, sources, include):
    """Pages of a public header and its sources, the names that have one, PETSc's names, and what is wrong."""
    warnings, pages = [], []
    for file in [header] + sources:
        text = open(file).read()
        for m in COMMENT.finditer(text):
            pages.append(page_of(m.group(1), m.group(2), text[m.end():], '%s:%d' % (file, text.count('\n', 0, m.start()) + 1), warnings))
    ours = {}
    for page in pages:
        for name in page.defines:
            if name in ours:
                warnings.append('%s: %s has a page already, in %s' % (page.source, name, ours[name].source))
            ours[name] = page

    code = re.sub(r'/\*.*?\*/', '', open(header).read(), flags=re.S)
    public = re.findall(r'^PETSC_EXTERN .*?(\w+)(?:\(|\[\];)|^#define (\w+) +"|^\} (\w+);', code, re.M)
    for name in map(''.join, public):
        if name not in ours:
            warnings.append('%s: %s has no manual page' % (header, name))
    for page in pages:
        if page.defines and page.defines[0] not in map(''.join, public):
            warnings.append('%s: %s is not in %s' % (page.source, page.name, header))

    petsc = petsc_names(include)
    options = {page.name: [term for term, _ in page.items('Options Database Key')] for page in pages}
    of_type = options.get('MATAIJTCU', [])
    for page in pages:
        quoted = [q for text in page.texts() for q in re.findall(r'`([^`]*)`', text) if NAME.match(q)] + page.seealso
        for name in [q.replace('()', '') for q in quoted]:
            if name not in ours and name not in petsc and name not in page.arguments and name != 'NULL':
                warnings.append('%s: %s: nothing is known of `%s`' % (page.source, page.name, name))
        for name in page.seealso:
            if name == page.name or name in ours and name != ours[name].name:
                warnings.append('%s: %s: .seealso must name other pages, not %s' % (page.source, page.name, name))
        for option in options[page.name]:
            if option not in of_type:
                warnings.append('%s: %s: %s is not a key of MATAIJTCU' % (page.source, page.name, option))
    return pages, ours, petsc, warnings
