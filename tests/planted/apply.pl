# apply.pl CHANGES SCRATCH NAME...: makes the named changes in SCRATCH/lease. Prints the files changed, one a line;
# ends with an error that names the text which is not there as often as it should be.
use strict;
use warnings;

my ($table, $scratch, @names) = @ARGV;
my (%changes, $name, $file);
open my $in, '<', $table or die "cannot read $table\n";
while (<$in>) {
    chomp;
    next if /^#/ || /^\s*$/;
    if (/^change (\S+) /) {
        $name = $1;
    } elsif (/^(-\S*) (.*)$/) {
        push @{ $changes{$name} }, [ $file, $1, $2 ];
    } elsif (/^\+ (.*)$/) {
        push @{ $changes{$name}[-1] }, $1;
    } else {
        $file = $_;
    }
}

# The text with any spaces and line ends where it has a space.
sub pattern {
    my $text = join '\s+', map { quotemeta } split ' ', shift;
    return qr/$text/;
}

my %changed;
for my $wanted (@names) {
    die "no change is called $wanted\n" unless $changes{$wanted};
    for my $edit (@{ $changes{$wanted} }) {
        my ($path, $which, $before, $after) = @$edit;
        my $full = "$scratch/lease/$path";
        local $/;
        open my $source, '<', $full or die "cannot read $full\n";
        my $text = <$source>;
        my $pattern = pattern($before);
        my $count = () = $text =~ /$pattern/g;
        my ($number) = $which =~ /^-(\d+)$/;
        die "$wanted: '$before' is $count times in $path\n"
            if $count == 0 || ($which eq '-' && $count != 1) || ($number && $count < $number);
        my $seen = 0;
        $text =~ s/($pattern)/$seen++; $which eq '-all' || $seen == ($number || 1) ? $after : $1/ge;
        unlink $full; # it may be a link to the true one
        open my $out, '>', $full or die "cannot write $full\n";
        print $out $text;
        $changed{$path} = 1;
    }
}
print "$_\n" for sort keys %changed;
